"""Sessions over HTTP, and the page that asks the next question: thin, over the same session as the terminal."""
