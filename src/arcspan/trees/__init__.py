"""What a tree is: constituents, dependencies, and the lexicalized tree that holds both."""
