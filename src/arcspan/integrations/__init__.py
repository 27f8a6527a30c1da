"""arcspan inside other libraries."""
