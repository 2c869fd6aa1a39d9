"""A campaign's rounds: what is offered, how reports are counted, how a cycle is closed and estimated."""
