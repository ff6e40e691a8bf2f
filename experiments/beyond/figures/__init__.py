"""The figures of the chapter beyond the paper."""
