"""What GPUs do while they are held: measured by others, asked for over HTTP, judged here."""
