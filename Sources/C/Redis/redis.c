#include "CEmisoraRedis.h"
