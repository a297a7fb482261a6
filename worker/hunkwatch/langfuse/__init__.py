"""The adapter to Langfuse: reading observations, writing scores, finding out which server answers."""
