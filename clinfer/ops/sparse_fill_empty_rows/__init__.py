"""SparseFillEmptyRows: every row of a sparse matrix gets an element. The host does it, in NumPy."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.sparse_fill_empty_rows.op import SparseFillEmptyRows

OPERATION = Operation("sparse_fill_empty_rows", converters={"SparseFillEmptyRows": by_attributes(SparseFillEmptyRows)})
