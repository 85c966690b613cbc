"""What Schemathesis is told of this interface."""

import itertools

import schemathesis

addresses = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Each request comes from an address of its own, so that what is limited by address is not used up."""
    number = next(addresses)
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    case.headers = {**(case.headers or {}), "X-Forwarded-For": address}


@schemathesis.serializer("application/gzip", "application/x-gzip", "application/sdp", "image/png", "image/jpeg", "image/webp", "image/avif")
def as_it_is(context, value):
    """Bodies that are neither JSON nor a form are sent as they are generated."""
    return value if isinstance(value, bytes) else str(value).encode()
