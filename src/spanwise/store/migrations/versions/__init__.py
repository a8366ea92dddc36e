"""One file for each version of the tables. A version that was released is never changed."""
