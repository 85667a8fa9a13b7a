#include "CEmisoraVPX.h"
