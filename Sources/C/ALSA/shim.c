#include "CEmisoraALSA.h"
