/* HACK for programs over the kernel's TCP. Each subject has a file; they are one program for the compiler. */
#include "negotiate.h"
#include "egress.h"
#include "ingress.h"
#include "congestion.h"
#include "listeners.h"

/* The kernel lends most of its functions only to programs that say they are compatible with its licence. */
char programs_license[] SEC("license") = "Dual MIT/GPL";
