"""Datasets on Apache Spark: the same functions, run where the rows are."""
