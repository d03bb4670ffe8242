"""SearchSorted and Bucketize: places of values among numbers in ascending order."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.search_sorted.kernels import KERNELS
from clinfer.ops.search_sorted.op import Bucketize, SearchSorted

OPERATION = Operation("search_sorted", converters={"Bucketize": by_attributes(Bucketize),
                                                   "SearchSorted": by_attributes(SearchSorted)},
                      kernels={Bucketize: KERNELS, SearchSorted: KERNELS})
