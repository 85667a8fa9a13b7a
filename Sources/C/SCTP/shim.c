#include "CEmisoraSCTP.h"
