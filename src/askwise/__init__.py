"""askwise: which question to ask next, for this case, and when to stop asking."""
