#include "CEmisoraV4L2.h"
