"""Methods compared on equal terms: `compare` runs every method on every dataset with every seed."""

from askwise.studies.compare.data import Dataset, TableData
from askwise.studies.compare.image_data import ImageData
from askwise.studies.compare.named_data import named
from askwise.studies.compare.run import Comparison, compare

__all__ = ["Comparison", "Dataset", "ImageData", "TableData", "compare", "named"]
