"""ESLint, Prettier and Biome."""
