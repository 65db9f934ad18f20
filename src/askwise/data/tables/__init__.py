"""Tables: their files, columns, prices, questions and splits."""
