#include "CEmisoraWebsockets.h"
