"""The routes: thin, one file for each kind of visitor."""
