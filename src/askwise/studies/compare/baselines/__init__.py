"""scikit-learn's own models on the questions that a fixed order buys: what people have without askwise."""
