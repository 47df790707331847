"""Where training of given data ends, solved directly; message passing and its state evolution."""
