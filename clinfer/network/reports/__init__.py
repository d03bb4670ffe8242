"""What executions did, as plain data: plans and why, times, memory, guards."""
