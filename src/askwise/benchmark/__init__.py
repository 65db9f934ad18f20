"""Methods compared on equal terms: `compare` runs every method on every dataset with every seed."""

from askwise.benchmark.data import Dataset, TableData, named
from askwise.benchmark.image_data import ImageData
from askwise.benchmark.run import Comparison, compare

__all__ = ["Comparison", "Dataset", "ImageData", "TableData", "compare", "named"]
