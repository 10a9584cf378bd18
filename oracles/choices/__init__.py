"""An oracle for assortments, from which a customer chooses one item or none."""
