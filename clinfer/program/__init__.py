"""What will be run: the graph, its passes, and the finished program."""
