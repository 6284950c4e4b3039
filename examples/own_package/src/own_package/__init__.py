"""What this package adds to Discreet. Importing it registers all of it."""

from own_package.data_format import JsonLines
from own_package.mechanism import BoundedCount
from own_package.method import TitleLength
from own_package.model import MeanTitle
from own_package.vendor_method import SharedMean

__all__ = ["BoundedCount", "JsonLines", "MeanTitle", "SharedMean", "TitleLength"]
