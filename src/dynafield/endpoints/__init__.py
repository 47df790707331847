"""The limit of training on given data, solved directly; message passing and its state evolution."""
