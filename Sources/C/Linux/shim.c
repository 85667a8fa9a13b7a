#include "CEmisoraLinux.h"
