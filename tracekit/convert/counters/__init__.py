"""What counter files of several tools share, and how they are joined to a timeline."""
