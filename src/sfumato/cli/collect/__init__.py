"""Commands for collections."""
