/* HACK for programs over the kernel's TCP. Each subject has a file; they are one program for the compiler. */
#include "negotiate.h"
#include "egress.h"
#include "ingress.h"
#include "congestion.h"
#include "listeners.h"

/* The kernel permits most of its functions only to programs with a licence that is compatible with its own. */
char programs_license[] SEC("license") = "Dual MIT/GPL";
