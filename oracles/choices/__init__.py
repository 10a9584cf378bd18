"""An oracle for assortments, from which a customer chooses at most one item."""
