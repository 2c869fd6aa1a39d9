"""What is said and kept: requests, what the store keeps as text, what is shown, and the envelope of every answer."""
