"""From loose records to whole traces, in any order of arrival and without input or output of its own."""
