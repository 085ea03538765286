"""traceinsight, which continues HTA with the same interface."""
import sys

import adapter
from use_hta import CLAIMS, DOCUMENTED, Tool  # noqa: F401

TITLE = "traceinsight"

if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
