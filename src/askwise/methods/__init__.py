"""Methods: one file each; a method builds a policy and trains it."""
