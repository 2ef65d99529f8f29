"""Operations on a workflow, and where its nodes go."""
