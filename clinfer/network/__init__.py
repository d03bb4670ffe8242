"""Running it: networks, their execution plans and their memory."""
