"""The papers' figures and tables: drawn, printed and asserted."""
