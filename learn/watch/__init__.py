"""What people see of a run: TensorBoard, reports, pictures and curves. Nothing here changes a run."""
