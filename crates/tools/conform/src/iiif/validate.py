"""Runs the tests of iiif-validator for version 3.0 against a server.

    validate.py picture FILE                 writes the picture that the tests expect
    validate.py tests ADDRESS IDENTIFIER     runs the tests; the exit code is 1 if one fails
"""

import random
import sys

from iiif_validator.validator import ImageAPI, TestSuite, ValidationInfo
from PIL import Image, ImageDraw

# Tests that are left out, each with the reason.
LEFT_OUT = {
    "format_gif": "Pelton makes no GIF",
    "format_jp2": "Pelton makes no JPEG 2000",
    "format_pdf": "Pelton makes no PDF",
    "format_tif": "Pelton makes no TIFF",
    "format_webp": "the test calls a function that only Python 2 has",
    "size_noup": "the test refuses !2000,3000 for a smaller picture; by §4.2, it is not enlarged",
    "size_up": "the test wants ^max to be the full size; by §4.2, it is the largest permitted size",
}


def write_picture(path):
    """Writes 10 × 10 squares with the colours that the tests look for."""
    picture = Image.new("RGB", (1000, 1000))
    draw = ImageDraw.Draw(picture)
    for x, column in enumerate(ValidationInfo().colorInfo):
        for y, colour in enumerate(column):
            draw.rectangle((x * 100, y * 100, x * 100 + 99, y * 100 + 99), fill=colour)
    picture.save(path)


def run(name, address, identifier):
    """Runs one test. Returns the failure, or None."""
    result = ImageAPI(identifier, address, "-/iiif", version="3.0", debug=False)
    try:
        TestSuite(ValidationInfo()).run_test(name, result)
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}, after {result.urls}"
    return result.exception and f"{result.exception}, after {result.urls}"


def run_all(address, identifier):
    names = TestSuite(ValidationInfo()).list_tests("3.0")
    unknown = LEFT_OUT.keys() - names.keys()
    if unknown:
        sys.exit(f"the validator has no such tests: {unknown}")
    failed = 0
    passed = 0
    for name in sorted(names.keys() - LEFT_OUT.keys()):
        # Some tests choose numbers at random; the name is the seed, so each run is the same.
        random.seed(name)
        failure = run(name, address, identifier)
        if failure:
            print(f"{name}: {failure}")
            failed += 1
        else:
            passed += 1
    for name, reason in sorted(LEFT_OUT.items()):
        print(f"{name}: left out: {reason}")
    print(f"iiif-validator: {passed} passed, {failed} failed, {len(LEFT_OUT)} left out")
    sys.exit(1 if failed else 0)


if sys.argv[1] == "picture":
    write_picture(sys.argv[2])
else:
    run_all(*sys.argv[2:])
