"""Methods compared on equal terms: `compare` runs every method on every dataset with every seed."""

from askwise.benchmark.data import Dataset, TableData, named
from askwise.benchmark.run import Comparison, compare

__all__ = ["Comparison", "Dataset", "TableData", "compare", "named"]
