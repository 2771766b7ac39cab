//! Everything fathomp asks of the kernel and the processor, behind safe interfaces.
