/* A game with GTK 3: it prints each key, plays a sound with libcanberra, and keeps the number of its sessions
 * in its settings. */
#include <canberra.h>
#include <gtk/gtk.h>

static int frame;

static gboolean draw(GtkWidget *widget, cairo_t *canvas, gpointer unused) {
  (void)unused;
  cairo_set_source_rgb(canvas, 0.1, 0.2, 0.4);
  cairo_paint(canvas);
  cairo_set_source_rgb(canvas, 0.9, 0.6, 0.2);
  cairo_rectangle(canvas, 200 + frame % 300, 200, 300, 300);
  cairo_fill(canvas);
  return gtk_widget_get_realized(widget);
}

static gboolean next(GtkWidget *canvas, GdkFrameClock *clock, gpointer unused) {
  (void)clock, (void)unused;
  frame++;
  gtk_widget_queue_draw(canvas);
  return G_SOURCE_CONTINUE;
}

static gboolean press(GtkWidget *window, GdkEventKey *key, gpointer unused) {
  (void)window, (void)unused;
  g_print("key %s\n", gdk_keyval_name(key->keyval));
  return FALSE;
}

static gboolean move(GtkWidget *window, GdkEventMotion *motion, gpointer unused) {
  static double x, y;
  static gboolean hasMoved;
  (void)window, (void)unused;
  if (hasMoved) g_print("look %g %g\n", motion->x - x, motion->y - y);
  hasMoved = TRUE;
  x = motion->x;
  y = motion->y;
  return FALSE;
}

static ca_context *sound;

static gboolean play(gpointer file);

/* Runs in a thread of libcanberra, from which no function of it may be called. */
static void end(ca_context *context, uint32_t id, int error, void *file) {
  (void)context, (void)id;
  if (error == CA_SUCCESS) g_idle_add(play, file);
}

static gboolean play(gpointer file) {
  ca_proplist *properties;
  ca_proplist_create(&properties);
  ca_proplist_sets(properties, CA_PROP_MEDIA_FILENAME, file);
  int error = ca_context_play_full(sound, 0, properties, end, file);
  if (error != CA_SUCCESS) g_print("canberra: %s\n", ca_strerror(error));
  ca_proplist_destroy(properties);
  return G_SOURCE_REMOVE;
}

static void keepSettings(void) {
  GSettings *settings = g_settings_new("dev.joypod.Compat");
  int before = g_settings_get_int(settings, "sessions");
  g_print("sessions %d\n", before);
  g_settings_set_int(settings, "sessions", before + 1);
  g_settings_sync();
  g_object_unref(settings);
}

int main(int count, char **arguments) {
  gtk_init(&count, &arguments);
  setvbuf(stdout, NULL, _IOLBF, 0);
  GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL), *canvas = gtk_drawing_area_new();
  gtk_window_set_default_size(GTK_WINDOW(window), 800, 600);
  gtk_container_add(GTK_CONTAINER(window), canvas);
  gtk_widget_add_events(window, GDK_POINTER_MOTION_MASK);
  g_signal_connect(window, "destroy", G_CALLBACK(gtk_main_quit), NULL);
  g_signal_connect(window, "key-press-event", G_CALLBACK(press), NULL);
  g_signal_connect(window, "motion-notify-event", G_CALLBACK(move), NULL);
  g_signal_connect(canvas, "draw", G_CALLBACK(draw), NULL);
  gtk_widget_add_tick_callback(canvas, next, NULL, NULL);
  gtk_widget_show_all(window);
  keepSettings();
  ca_context_create(&sound);
  if (count > 1) play(arguments[1]);
  gtk_main();
  g_print("bye\n");
  ca_context_destroy(sound);
  return 0;
}
