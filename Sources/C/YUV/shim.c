#include "CEmisoraYUV.h"
