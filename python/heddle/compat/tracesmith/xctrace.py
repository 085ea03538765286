"""`tracesmith.xctrace` records by Apple's tool, which Heddle does by its command: this says how."""
raise ImportError("heddle.compat.tracesmith has no xctrace: `heddle record --with xctrace COMMAND` records, and heddle.open() reads "
                  "what `xctrace export` wrote")
