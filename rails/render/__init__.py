"""What is shown, without where it comes from."""
