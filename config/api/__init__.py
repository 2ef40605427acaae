"""What every endpoint shares on the wire: the error shape, strict JSON, request ids."""
