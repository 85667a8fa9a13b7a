#include "CEmisoraXCB.h"
